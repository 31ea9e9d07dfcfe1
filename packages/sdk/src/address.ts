/**
 * The address of a server without a slash at its end.
 *
 * @throws {TypeError} It is neither https nor this machine, or has more than a path.
 */
export function addressOf(url: string, allowHttp: boolean): string {
  const { protocol, hostname, username, search, hash } = new URL(url);
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && (isLocal || allowHttp)))
    throw new TypeError("url must begin with https:// (allowHttp permits http to other machines)");
  if (username !== "" || search !== "" || hash !== "")
    throw new TypeError("url must have neither a user, nor parameters, nor a fragment");
  return url.replace(/\/+$/, "");
}
