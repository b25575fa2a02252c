"""Garden: scheduled maintenance of an owner's memory."""
