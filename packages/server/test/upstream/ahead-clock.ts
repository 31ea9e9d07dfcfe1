/**
 * Loaded before Cofre starts (`--import`): its clock begins ahead of the system's by so much, and
 * each SIGUSR2 moves it on. Recovery waits for minutes and hours that no test has.
 */
const systemNow = Date.now.bind(Date);
const stepMs = Number(process.env["TEST_CLOCK_STEP_MS"] ?? "0");
let aheadMs = Number(process.env["TEST_CLOCK_AHEAD_MS"] ?? "0");

Date.now = () => systemNow() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs += stepMs;
});
