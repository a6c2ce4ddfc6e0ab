// A release build checks nothing. Debug builds and simulations have checked it.

#if !DEBUG
    /// Checks nothing.
    struct TurnCheck {}

    extension EventLoop {
        @inline(__always)
        func checkNowAndThen() {}
    }
#endif
