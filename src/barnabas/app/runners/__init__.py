"""What reads records for a handler, has them handled, and marks what is done.

record_runner     records one by one, in order or side by side
retry_runner      records of retry topics, when they are due
share_runner      records of a share group, each acknowledged alone
rounds            batches, Arrow tables and transactions
batches           one list: as a whole, or record by record
refusals          results that a broker refuses in a transaction
result_delivery, deliveries    results, until they are stored
side_by_side      workers for records of different keys
keyed_work        the order of records of one key
whole_topic       all of a topic in every process, without a group
delayed_records   records for later, moved while the application runs
rewinds           requests to go back
unread            records that are put back
table_rows        the rows of an Arrow table as records
"""
