"""What is served: found in `blueprints`, in installed plugins and in what a test names, and checked."""
