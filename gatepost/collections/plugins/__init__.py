"""Discovery of collections, routes and features in `blueprints`, in plugins and in tests, and checks of each."""
