"""One memory on several devices of a person, through a place that nobody has to trust.

Start at ``device_sync.MemorySync``, the door, then ``exchange.Exchange.run``, which lists the steps.

- ``record_state``: the state of one memory and the merge of two, pure functions.
- ``local_records``, ``record_import``: records of this home with their stamps; what others told.
  ``conflict_quotes``: facts go with the text that says them, where two texts of a message are kept.
- ``replica_state``: how far this home is. ``own_segments``: what it writes.
- ``attachment_exchange``: files of pictures and sounds, after the memories.
- ``segments``, ``places``: sealed files, and where devices leave them for each other.
- ``ciphers``, ``membership``, ``identity``: cryptography, who belongs to the memory, this device.
"""
