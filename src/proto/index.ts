export { grpcObject, type MessageCodec, messageCodec, packageDefinition, protoDir, readDescriptorSet } from "./loader.ts";
export { type MethodRoute, methodRoute, valueAt } from "./method-route.ts";
