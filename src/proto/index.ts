export { grpcObject, type MessageCodec, messageCodec, packageDefinition, protoDir, readDescriptorSet } from "./loader.ts";
