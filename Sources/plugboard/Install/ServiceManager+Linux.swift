// The service manager of Linux.

#if os(Linux)
    extension ServiceManager {
        static let standard = ServiceManager.systemd
    }
#endif
