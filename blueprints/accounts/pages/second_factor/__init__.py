"""Pages of the console: the code at a `login`, one's `own` second factor, and that `of_user`."""

from ....console.pages import showing

show = showing(__package__)
