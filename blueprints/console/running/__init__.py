"""*Overview* (`start`), and *Status*: the `page` about health, requests and sizes."""
