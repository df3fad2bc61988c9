import { hostileStores } from './hostile-store-suite.ts';

hostileStores(['endless list', 'entity bomb', 'wrong tags']);
