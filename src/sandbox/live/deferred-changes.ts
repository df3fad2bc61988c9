export type DeferredChanges = ReturnType<typeof deferredChanges>;

/** Changes that were taken note of and are made some requests later: whoever reads at once reads the old state. */
export function deferredChanges(afterRequests: number) {
  let pending: { requestNumber: number; make: () => void }[] = [];
  let current = 0;
  return {
    defer: (make: () => void): void => void pending.push({ requestNumber: current + afterRequests, make }),
    /** Makes what is due, before the request of this number is answered. */
    makeDue(requestNumber: number): void {
      current = requestNumber;
      const due = pending.filter((change) => change.requestNumber < requestNumber);
      pending = pending.filter((change) => change.requestNumber >= requestNumber);
      for (const { make } of due) make();
    },
  };
}
