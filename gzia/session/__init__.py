"""Sessions: the record, the journal, the live conversation, and the verbs that people use on them."""
