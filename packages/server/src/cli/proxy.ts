import { interfaceHosts, interfacePort } from "../certificates/hosts.ts";
import { reachableHost } from "./banner.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { listens, openConnectProxy } from "./connect-proxy.ts";
import { settingsOf } from "./settings-of.ts";

/** Directs clients with fixed hosts to the Cofre on this machine. */
export const proxyCommand: ClientCommand = {
  summary: "forward clients with fixed host names to this Cofre",
  details:
    "Cofre listens with --tls. `cofre env` prints the variables that make clients use the proxy.",
  options: {
    "--proxy-port": { form: "N", doc: "listen on this port of 127.0.0.1; 0 chooses a free one" },
    "--tls-port": { form: "N", doc: "Cofre's TLS port" },
    "--host": { form: "H", doc: "the address that Cofre listens on" },
  },
  examples: [
    "cofre start --tls",
    "cofre proxy",
    'eval "$(cofre env curl)" && curl https://sandbox.ebanx.com/healthz',
  ],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const { environment, host: cofreHost, tlsPort, proxyPort } = settingsOf(call, host);
      if (environment !== "sandbox")
        throw new ClientProblem(
          "cofre proxy is for a sandbox: in production, clients use the address of the server.",
          { misuse: true },
        );
      const to = { host: reachableHost(cofreHost), port: tlsPort };
      if (tlsPort === 0)
        throw new ClientProblem("--tls-port must be Cofre's TLS port, which its log shows.", {
          misuse: true,
        });
      const targets = interfaceHosts.map((name) => `${name}:${interfacePort}`);
      const proxy = await openConnectProxy(proxyPort, { targets, to, say: host.say }).catch(
        (error: unknown) => {
          throw new ClientProblem(
            error instanceof Error && "code" in error && error.code === "EADDRINUSE"
              ? `Port ${proxyPort} of 127.0.0.1 is in use, perhaps by another proxy. Choose another with COFRE_PROXY_PORT=N or --proxy-port N.`
              : `The proxy cannot listen on port ${proxyPort} of 127.0.0.1.`,
          );
        },
      );
      host.say(`Forwarding ${interfaceHosts.join(", ")} to ${to.host}:${to.port}.`);
      host.say(
        `The proxy is http://127.0.0.1:${proxy.port}; \`cofre env\` prints what a client needs. Ctrl-C stops the proxy.`,
      );
      if (!(await listens(to)))
        host.say(
          `Nothing listens at ${to.host}:${to.port} yet: run \`cofre start --tls\`, now or later.`,
        );
      await host.stopRequested();
      await proxy.close();
      return exitCodes.done;
    }),
};
