/**
 * Splits a stream of rows into parts of at most `partRows` rows, each row made by `make`, holding no more than one row.
 * There is always a first part, though it may be empty; every further one has a row. A part must be read to its end
 * before the next is asked for.
 */
export function* splitRows<Row, Made>(
  rows: Iterator<Row>,
  partRows: number,
  make: (row: Row) => Made,
): Generator<Iterable<Made>, void> {
  let next = rows.next();
  do {
    yield (function* () {
      for (let taken = 0; taken < partRows && !next.done; taken += 1) {
        yield make(next.value);
        next = rows.next();
      }
    })();
  } while (!next.done);
}
