import { freshFolder } from '../mirror/open-test-mirror.ts';

/** A fresh folder with an awkward name, gone when the test has ended. */
export function temporaryFolder(): string {
  return freshFolder();
}
