import { hostileStores } from './hostile-store-suite.ts';

// One kind that could take all memory. The slow set has the others.
hostileStores(['endless body']);
