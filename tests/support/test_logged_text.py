import logging

import pytest
from pyspark.logger import PySparkLogger


def test_a_logger_of_pyspark_leaves_what_tests_read_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = PySparkLogger.getLogger("tests.logged_text")
    logger.addHandler(caplog.handler)
    try:
        logging.getLogger("barnabas").warning('a "quoted" %s', "word")
    finally:
        logger.removeHandler(caplog.handler)
    assert [record.message for record in caplog.records] == ['a "quoted" word']
    assert 'a "quoted" word' in caplog.text
