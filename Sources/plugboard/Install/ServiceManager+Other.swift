// The service manager elsewhere.

#if !os(Linux)
    extension ServiceManager {
        static let standard = ServiceManager.launchd
    }
#endif
