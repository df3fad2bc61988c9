import { hostileStores } from './hostile-store-suite.ts';

hostileStores(['endless body', 'old bytes', 'endless list', 'entity bomb', 'wrong tags']);
