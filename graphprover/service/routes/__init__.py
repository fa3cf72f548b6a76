"""The routes of the service, by resource. `graphprover.service.dependencies` gives them its parts."""
