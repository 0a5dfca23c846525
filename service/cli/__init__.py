"""What `tallystick` does beside serving."""
