"""A gRPC client in Python that knows gin only by the image `buf build` makes: IMAGE TARGET TOKEN, then calls as JSON lines on standard input."""

import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

image, target, token = sys.argv[1:4]
pool = descriptor_pool.DescriptorPool()
with open(image, "rb") as file:
    for one in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
        pool.Add(one)
factory = message_factory.MessageFactory(pool)
service = pool.FindServiceByName("gin.v1.GinService")
metadata = [("authorization", "Bearer " + token)] if token else []
# A Unix socket has no host name of its own, and gin wants to know which one is meant.
options = [("grpc.default_authority", "localhost")] if target.startswith("unix:") else []

with grpc.insecure_channel(target, options=options) as channel:
    for line in sys.stdin:
        call = json.loads(line)
        method = service.FindMethodByName(call["method"])
        send = channel.unary_unary(
            "/gin.v1.GinService/" + method.name,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=factory.GetPrototype(method.output_type).FromString,
        )
        request = json_format.ParseDict(call["message"], factory.GetPrototype(method.input_type)())
        try:
            answer = send(request, timeout=20, metadata=metadata)
            said = {"answer": json_format.MessageToDict(answer, preserving_proto_field_name=True, including_default_value_fields=True)}
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
            said = {"refusal": str(error.details()) + " " + details.decode("latin1")}
        print(json.dumps(said), flush=True)
