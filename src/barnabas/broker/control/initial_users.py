"""The users that a new cluster begins with (`initial.users.file`): its first administrator.

Somebody has to be able to sign in before users can be added. The first controller of a new cluster
writes them into the metadata log; later the file is not read any more.
"""

from random import Random

from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.log import Disk
from barnabas.metadata.image import MetadataImage
from barnabas.security.sasl.initial_users import parse_initial_users
from barnabas.security.sasl.scram_credential import SALT_BYTES
from barnabas.wire.messages.metadata_records import UserScramCredentialRecord

SETTING = "initial.users.file"


def load_initial_users(
    disk: Disk, config: BrokerConfig, random: Random
) -> list[UserScramCredentialRecord]:
    """Raises `ConfigError`."""
    path = config.node.initial_users_file
    if not path:
        return []
    try:
        return parse_initial_users(disk.read_file(path).decode(), random.randbytes(SALT_BYTES))
    except OSError as error:
        raise ConfigError(f"{SETTING}={path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{SETTING}={path}: {error}") from None


def is_new_cluster(image: MetadataImage) -> bool:
    """Whether nothing has happened in the cluster yet."""
    return not (image.brokers or image.topics or image.scram.credentials)
