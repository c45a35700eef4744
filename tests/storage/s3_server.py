"""moto's S3 server, one request at a time: python -m tests.storage.s3_server PORT.

moto looks for the object of a conditional PUT and then writes it, so with a thread for each request two writers of one
name may both succeed, which S3 never lets them.
"""

import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple


def main(port: int) -> None:
    app = DomainDispatcherApplication(create_backend_app)
    app.debug = True  # type: ignore[attr-defined]  # as moto's own server: the answers tell what went wrong
    run_simple("127.0.0.1", port, app, threaded=False, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
