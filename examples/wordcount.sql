-- Counts words, as the quick start of Kafka Streams does.
-- source lines: topic streams-plaintext-input
-- sink: topic streams-wordcount-output
-- output_mode: update
SELECT word AS key, CAST(count(*) AS STRING) AS value
FROM (SELECT explode(split(lower(CAST(value AS STRING)), '\\W+')) AS word FROM lines)
WHERE word != ''
GROUP BY word
