"""How busy the service was in each minute of the last day (`counts`), and how large it is (`endpoints`)."""

from gatepost import Feature

feature = Feature(
    name="activity", make="blueprints.activity.counts:make", background="blueprints.activity.counts:tasks",
    departure="blueprints.activity.counts:departure")
