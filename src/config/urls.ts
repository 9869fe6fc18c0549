const userInfo = /^([A-Za-z][A-Za-z0-9+.-]*:\/\/)([^/?#]*)@/;
const secretParameter = /([?&][^=&#]*(?:password|passwd|secret|token|credential|access_?key)[^=&#]*=)([^&#]+)/gi;

/** Whether the URL names a user, with or without a password. */
export function hasUserInfo(url: string): boolean {
  return userInfo.test(url);
}

/** Whether the URL carries a password, before its host or as a parameter. */
export function hasPassword(url: string): boolean {
  return url !== maskUrl(url);
}

/** The URL with every password in it replaced by `***`; other text stays as it is. */
export function maskUrl(url: string): string {
  return url
    .replace(userInfo, (_, scheme: string, info: string) => {
      const colon = info.indexOf(":");
      return colon < 0 || colon === info.length - 1 ? `${scheme}${info}@` : `${scheme}${info.slice(0, colon)}:***@`;
    })
    .replace(secretParameter, "$1***");
}
