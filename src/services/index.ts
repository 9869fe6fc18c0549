export { tokenAfterChange } from "./caller-consistency.ts";
export { createServices } from "./create-services.ts";
export { createRepositorySource } from "./repository-source.ts";
export type { NodeCheck, NodeFacts, ServicesDeps } from "./services-deps.ts";
export { createSmartHttp, type SmartHttpDeps } from "./smart-http/create-smart-http.ts";
export type { SmartHttp, SmartHttpRequest } from "./smart-http/smart-http.ts";
