/*
 * The claims of one idempotency key: two gateways at a time and more requests after them, one store that may lose its
 * tail once and let the record expire once, and one client that repeats and settles. 0021-claims-as-a-model.md explains
 * it and has the results.
 *
 * Times are reduced to what matters: whether the store lost records, or let the one of the key expire, after the client's
 * first request, and whether the lease of a claim has ended, after which its sender does not send any more. No request
 * is on its way for more than the margin of 30 s.
 *
 * With STANDBY, the store confirms a change when its synchronous standby has it. So a gateway acts only on changes that the
 * promotion of this standby keeps. The operator may turn the synchronous replication off, after which the standby lags.
 */

#define FREE 0
#define CLAIMED 1
#define RECORDED 2
#define ORPHANED 3
#define RELEASED 4

#ifndef REPEATS
#define REPEATS 2
#endif
#define VERSIONS 32

/* The record of the key. A version is new with every change, and decides every swap. */
byte state = FREE;
bool settled;
bool settledAsComplete;
byte version;
byte newest;
/* The part of it that a loss leaves. */
byte keptState = FREE;
bool keptSettled;
bool keptAsComplete;
byte keptVersion;
/* Whether commits wait for the standby, and whether the record of completeness of the part that a loss leaves says so. */
bool isSynchronous;
bool keptIsSynchronous;
/* The newest version that a gateway has acted on, and the versions that a promotion without a loss has not left. */
byte confirmed;
byte lostAfter;
byte lostUpTo;
/* The version of the record of completeness, and what it says about the key. */
byte generation;
bool lostSinceFirst;
bool mayLose = true;
/* The record of the key has expired, and the retention that it was kept for is known. */
bool olderThanRetention;
bool mayExpire = true;

bool firstSent;
byte executed;
/* What the client was told: that it was not executed and never will be, or orphaned. */
bool toldNever;
bool toldOrphaned;
/* By the version of a claim. */
bool leaseEnded[VERSIONS];

inline replace(newState) {
  newest++;
  version = newest;
  state = newState
}

inline tellNever() {
  if
  :: isHeard -> confirm(version); toldNever = true; assert(executed == 0)
  :: else
  fi
}

inline tellOrphaned() {
  if
  :: isHeard -> confirm(version); toldOrphaned = true
  :: else
  fi
}

/* A gateway acts on a change: its standby has it. */
inline confirm(ofVersion) {
  if
  :: isSynchronous && ofVersion > confirmed -> confirmed = ofVersion
  :: else
  fi
}

/* Whether the gateway gets the replies of the store. With a standby, they may be lost while a change waits for it. */
inline hear() {
  if
  :: isHeard = true
  :: isSynchronous -> isHeard = false
  fi
}

/* A change that a promotion has dropped. Nobody got the reply to it. */
#define WAS_LOST(ofVersion) (ofVersion > lostAfter && ofVersion <= lostUpTo)

/* A request to cancel hits the wait of a claim, and the server confirms the claim although no standby has it. */
#ifdef LATE_CANCEL
#define CONFIRMED_CLAIM 0
#else
#define CONFIRMED_CLAIM own
#endif

/* A member of a quorum may lack what another one has confirmed. The promotion of one is a loss, as without a standby. */
#ifdef QUORUM_IS_CERTAIN
#define HAS_ALL true
#else
#define HAS_ALL (keptVersion >= confirmed)
#endif

/* A standby that stayed behind has an earlier record of completeness than the gateways know: its promotion is a loss. */
#ifdef STALE_IS_CERTAIN
#define IS_CERTAIN keptIsSynchronous
#else
#define IS_CERTAIN (keptIsSynchronous && isSynchronous)
#endif

#ifdef NO_RETENTION_RULE
#define MAY_HAVE_EXPIRED false
#else
#define MAY_HAVE_EXPIRED olderThanRetention
#endif

/* A request. The age of a repeat reaches back to the first request, which has the age 0. */
proctype Request(bool isFirst) {
  byte basis;
  byte seen;
  bool isForgotten;
  byte own;
  bool isDone;
  bool isLate;
  bool isHeard;

  hear();
  /* A copy of the first request arrives before its record can expire. */
  if
  :: isFirst && olderThanRetention -> isDone = true
  :: else
  fi;
  do
  :: isDone -> break
  :: else ->
     /* The record and the basis are read before the swap, and may change in between. */
     d_step {
       basis = generation;
       isForgotten = !isFirst && (lostSinceFirst || MAY_HAVE_EXPIRED);
       seen = version
     };
#ifdef NO_MARGIN
     /* It was sent before the loss, and has the age of that moment. */
     if
     :: isForgotten = false
     :: skip
     fi;
#endif
     if
#ifndef NO_MARGIN
     /* For 30 s after a loss, a request with the age 0 is rejected. */
     :: isFirst && lostSinceFirst -> isDone = true
#endif
     :: d_step {
          state == CLAIMED && seen == version && basis == generation ->
          /* Its lease has ended. Who reports that writes so first. */
          leaseEnded[version] = true;
          replace(ORPHANED);
          tellOrphaned();
          isDone = true
        }
     :: d_step { state == RELEASED -> tellNever(); isDone = true }
     :: d_step { state == FREE && settled ->
#ifndef ALWAYS_CERTAIN
          if
          :: settledAsComplete -> tellNever()
          :: else
          fi;
#else
          tellNever();
#endif
          isDone = true
        }
     :: d_step { state != FREE && state != RELEASED -> isDone = true } /* In progress, a replay, or orphaned. */
     :: d_step {
          state == FREE && !settled && seen == version &&
#ifndef NO_ROW_LOCK
          basis == generation &&
#endif
#ifndef NO_MARGIN
          !(isFirst && lostSinceFirst) &&
#endif
          !(isFirst && olderThanRetention) ->
#ifndef NO_AGE_RULE
          if
          :: isForgotten -> replace(ORPHANED); tellOrphaned()
          :: else -> replace(CLAIMED); own = version; assert(isFirst || !toldOrphaned)
          fi;
#else
          replace(CLAIMED);
          own = version;
#endif
          isDone = true
        }
     /* The reply of the store is lost. The claim is released, and told as not sent, and then it arrives. */
     :: state == FREE && !settled && !isForgotten ->
        d_step {
          if
#ifndef NO_REPLACEMENT
          :: seen == version -> replace(state)
#endif
          :: else
          fi;
          isLate = true
        };
        d_step {
          if
          :: seen == version && basis == generation -> assert(!isLate) /* An orphan that was never sent. */
          :: else
          fi;
          isDone = true
        }
     :: seen != version || basis != generation -> skip /* Reads again. */
     fi
  od;

  if
  :: own == 0
  :: own != 0 ->
     if
     :: skip /* The gateway dies. */
     :: d_step { /* Not sent: frees the key; after its lease, closes it. */
          if
          :: version == own && !leaseEnded[own] -> replace(FREE)
          :: state == ORPHANED && leaseEnded[own] -> replace(RELEASED)
          :: else
          fi
        }
     :: atomic { isHeard && !leaseEnded[own] && !WAS_LOST(own) ->
          confirm(CONFIRMED_CLAIM);
          executed++;
          assert(executed <= 1);
          assert(!toldNever)
        };
        if
        :: skip /* The gateway dies before it records. */
        :: d_step { /* Also if the store has lost the claim. */
             if
             :: version == own || state == ORPHANED || state == FREE -> replace(RECORDED)
             :: else
             fi
           }
        fi
     fi
  fi
}

proctype Settle() {
  byte basis;
  byte seen;
  byte seenState;
  bool isComplete;
  bool isDone;
  bool isHeard;

  hear();
  do
  :: isDone -> break
  :: else ->
     d_step {
       basis = generation;
       isComplete = !(lostSinceFirst || MAY_HAVE_EXPIRED);
#ifdef NO_AGE_RULE
       isComplete = true;
#endif
       seen = version;
       seenState = state
     };
     d_step {
       if
       :: seen == version && basis == generation ->
          settled = true;
          settledAsComplete = settledAsComplete || isComplete;
          replace(state);
          /* The owner of a claim knows its record by the version before. */
          leaseEnded[version] = leaseEnded[seen];
          isDone = true;
          if
          :: (seenState == FREE || seenState == RELEASED) && isComplete -> tellNever()
          :: else
          fi
       :: else
       fi
     }
  od
}

/*
 * Makes a part of the records durable at any time, and loses the rest once, with or without a promotion. The gateways use
 * a store after a loss only when the record of completeness says so, so both are one step. The record expires once, long after the first request.
 */
proctype Store() {
  do
  :: d_step {
       keptState = state;
       keptSettled = settled;
       keptAsComplete = settledAsComplete;
       keptVersion = version;
       keptIsSynchronous = isSynchronous
     }
  :: d_step {
       mayLose && (!IS_CERTAIN || !isSynchronous || HAS_ALL) ->
       mayLose = false;
       if
       :: IS_CERTAIN -> lostAfter = keptVersion; lostUpTo = newest
       :: else -> lostSinceFirst = firstSent
       fi;
       isSynchronous = false; /* No other loss follows. */
       state = keptState;
       settled = keptSettled;
       settledAsComplete = keptAsComplete;
       version = keptVersion;
       generation++
     }
  :: d_step { isSynchronous -> isSynchronous = false; generation++ } /* The operator turns it off. */
  :: d_step {
       mayExpire && firstSent && state == RECORDED ->
       mayExpire = false;
       olderThanRetention = true;
       settled = false;
       settledAsComplete = false;
       replace(FREE)
     }
  :: break
  od
}

init {
  byte n;
#ifdef STANDBY
  isSynchronous = true;
  keptIsSynchronous = true;
#endif
  run Store();
  firstSent = true;
  run Request(true);
  do
  :: n < REPEATS -> n++; run Request(false)
  :: break
  od;
  run Settle();
  if
  :: run Request(false) /* A late copy. */
  :: skip
  fi
}
