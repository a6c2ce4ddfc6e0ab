// A thread of the system, on Apple's platforms. All calls of pthreads are here.
//
// Why its pointers are safe: the pointer that a thread gets is a retained object. It is released exactly
// once: by the thread, or here if no thread could be started.

#if canImport(Darwin)
    import Darwin

    @usableFromInline
    enum SystemThread {
        /// A value that is the identity of no thread.
        static let noIdentity: UInt = 0

        @usableFromInline static var currentIdentity: UInt { unsafe UInt(bitPattern: pthread_self()) }

        /// Runs `body` on a new thread, which ends with it.
        static func start(_ body: @escaping @Sendable () -> Void) throws(ThreadStartFailure) {
            let start = unsafe Unmanaged.passRetained(Start(body))
            var thread: pthread_t?
            let code = unsafe pthread_create(&thread, nil, entry, start.toOpaque())
            guard code == 0 else {
                unsafe start.release()
                throw ThreadStartFailure(code: code)
            }
        }

        private final class Start: Sendable {
            let body: @Sendable () -> Void

            init(_ body: @escaping @Sendable () -> Void) {
                self.body = body
            }
        }

        private static let entry: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = {
            argument in
            unsafe pthread_detach(pthread_self())
            unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }
    }
#endif
