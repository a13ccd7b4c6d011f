"""Dead letters: records that do not become rows, written to a topic by the task that reads them.

dead_record      a record, the reason why it is not a row, and the headers with both
letter_progress  which dead letters of a batch are written, stored with a group's offsets
letter_target    where dead letters go, as tasks see it
letter_writer    writes those of a task, each exactly once
letter_udf       the writer as a function of a column, for rows that the JVM finds to be dead
"""
