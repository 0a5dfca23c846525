"""What a file tells without being shown: sizes, pages, text and length. Pure, bounded, never raising on any bytes."""
