"""Dead letters: records that become no rows, written to a topic by the task that meets them.

dead_record      a record, the reason why it becomes no row, and the headers that say so
letter_progress  which dead letters of a batch are written, kept with the offsets of a group
letter_target    where dead letters go, as tasks see it
letter_writer    writes those of a task, each exactly once
letter_udf       the writer as a function of a column, for rows that the JVM finds to be dead
"""
