"""Activity of the service: request counts for each minute of the last day (`counts`), and sizes (`endpoints`)."""

from gatepost import Feature

feature = Feature(
    name="activity", make="blueprints.activity.counts:make", background="blueprints.activity.counts:tasks",
    departure="blueprints.activity.counts:departure")
