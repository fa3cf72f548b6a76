"""The routes of the service, by resource. `graphprover.service.dependencies` has what they get of it."""
