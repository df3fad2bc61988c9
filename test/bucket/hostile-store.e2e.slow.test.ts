import { hostileStores } from './hostile-store-suite.ts';

hostileStores(['old bytes', 'endless list', 'entity bomb', 'wrong tags']);
