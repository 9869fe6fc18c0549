export type { SmartHttp, SmartHttpRequest } from "./smart-http/smart-http.ts";
