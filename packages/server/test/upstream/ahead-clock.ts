/**
 * Loaded before Cofre starts (`--import`): the clock starts ahead of the system's by a given time,
 * and each SIGUSR2 advances it. Otherwise recovery would wait for minutes and hours.
 */
const systemNow = Date.now.bind(Date);
const stepMs = Number(process.env["TEST_CLOCK_STEP_MS"] ?? "0");
let aheadMs = Number(process.env["TEST_CLOCK_AHEAD_MS"] ?? "0");

Date.now = () => systemNow() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs += stepMs;
});
