"""The users that a new cluster begins with (`initial.users.file`): its first administrator.

Somebody has to be able to sign in before users can be added. The first controller of a new cluster
writes them into the metadata log; later the file is not read any more.
"""

import logging
from random import Random

from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.log import Disk
from barnabas.metadata.image import MetadataImage
from barnabas.security.sasl.initial_users import parse_initial_users
from barnabas.security.sasl.scram_credential import SALT_BYTES
from barnabas.wire.messages.metadata_records import UserScramCredentialRecord

logger = logging.getLogger(__name__)

SETTING = "initial.users.file"


def load_initial_users(
    disk: Disk, config: BrokerConfig, cluster_id: str, random: Random
) -> list[UserScramCredentialRecord]:
    """The users in the file. Once the data directory belongs to a cluster, of which this is the id,
    the file may be missing.

    It is read all the same if it is there: the first controller may have stopped before it has
    written the users. Raises `ConfigError`.
    """
    path = config.node.initial_users_file
    if not path:
        return []
    try:
        return parse_initial_users(disk.read_file(path).decode(), random.randbytes(SALT_BYTES))
    except FileNotFoundError as error:
        if cluster_id:
            logger.info("%s=%s is missing; only a new cluster needs it", SETTING, path)
            return []
        raise ConfigError(
            f"{SETTING}={path}: {error.strerror}; create the file with `barnabas security init`, "
            "or remove the setting"
        ) from error
    except OSError as error:
        raise ConfigError(f"{SETTING}={path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{SETTING}={path}: {error}") from None


def is_new_cluster(image: MetadataImage) -> bool:
    """Whether nothing has happened in the cluster yet."""
    return not (image.brokers or image.topics or image.scram.credentials)
