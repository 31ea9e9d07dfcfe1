"""Signs the requests on standard input with botocore, as JSON on standard output.

A request has host, region, target, body, token (or null) and seconds. For the vectors of
sig-v4.test.ts and the lane custody: pip install botocore==1.44.8
"""

import datetime
import json
import sys

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def signed(request):
    moment = datetime.datetime.fromtimestamp(request["seconds"], datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: moment.replace(tzinfo=None)
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": request["target"],
    }
    url = f"https://{request['host']}/"
    sent = AWSRequest("POST", url, headers, request["body"].encode())
    credentials = Credentials(
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        request["token"],
    )
    botocore.auth.SigV4Auth(credentials, "kms", request["region"]).add_auth(sent)
    return sent.headers["Authorization"]


json.dump([signed(request) for request in json.load(sys.stdin)], sys.stdout)
