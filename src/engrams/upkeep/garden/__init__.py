"""Garden: scheduled maintenance of all of an owner's memory.

Enter at ``garden.MemoryGarden``, which is ``engine.garden``.
"""
