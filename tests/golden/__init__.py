"""What the service answers, recorded byte for byte, so that a refactoring cannot change it unseen."""
