"""Committed offsets, of groups of any kind.

committed_offsets.py, transactional_offsets.py       persistent, by replay
pending_offsets.py                                   decided and not persisted
group_offsets.py                                     both of one group
commit.py txn_commit.py fetch.py deletion.py retention.py
"""
