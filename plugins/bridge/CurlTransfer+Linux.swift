// HTTP by libcurl, which is loaded when the bridge starts. Foundation's URLSession uses the same library, but
// on Linux it ends the process when an answer has a trailer, and each of etcd's errors has one
// (swift-corelibs-foundation #5285). It can't be linked into a static program without development packages
// either.
//
// Why it may be unsafe: libcurl is called through pointers that `dlsym` finds. Each has the type of its
// declaration in curl.h; the variadic ones are called with one argument of a pointer or a long, which both
// Linux ABIs pass as they pass declared ones. A handle is used by one transfer at a time, and everything that
// libcurl is given a pointer to lives until `curl_easy_perform` has returned.

#if os(Linux)
    import Glibc
    import PlugboardMemory
    import Synchronization

    /// The functions of libcurl.
    @safe private struct CurlLibrary: Sendable {
        typealias Easy = UnsafeMutableRawPointer
        typealias Receive =
            @convention(c) (UnsafeMutablePointer<UInt8>?, Int, Int, UnsafeMutableRawPointer?) -> Int
        typealias Progress = @convention(c) (UnsafeMutableRawPointer?, Int, Int, Int, Int) -> Int32

        typealias Make = @convention(c) () -> Easy?
        typealias Use = @convention(c) (Easy?) -> Void
        typealias Perform = @convention(c) (Easy?) -> Int32
        typealias SetPointer = @convention(c) (Easy?, Int32, UnsafeRawPointer?) -> Int32
        typealias SetLong = @convention(c) (Easy?, Int32, Int) -> Int32
        typealias GetLong = @convention(c) (Easy?, Int32, UnsafeMutablePointer<Int>?) -> Int32
        typealias Words = @convention(c) (Int32) -> UnsafePointer<CChar>?
        typealias Append =
            @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> UnsafeMutableRawPointer?

        let make: Make
        let clean: Use
        let reset: Use
        let setPointer: SetPointer
        let setLong: SetLong
        let perform: Perform
        let getLong: GetLong
        let words: Words
        let append: Append
        let free: Use

        static let shared = load()

        private static func load() -> CurlLibrary? {
            let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]
            for name in names {
                guard let library = unsafe dlopen(name, RTLD_NOW) else { continue }
                if let found = unsafe CurlLibrary(library) { return found }
            }
            return nil
        }

        private init?(_ library: UnsafeMutableRawPointer) {
            guard let make = unsafe Self.find("curl_easy_init", in: library, Make.self),
                let clean = unsafe Self.find("curl_easy_cleanup", in: library, Use.self),
                let reset = unsafe Self.find("curl_easy_reset", in: library, Use.self),
                let setPointer = unsafe Self.find("curl_easy_setopt", in: library, SetPointer.self),
                let setLong = unsafe Self.find("curl_easy_setopt", in: library, SetLong.self),
                let perform = unsafe Self.find("curl_easy_perform", in: library, Perform.self),
                let getLong = unsafe Self.find("curl_easy_getinfo", in: library, GetLong.self),
                let words = unsafe Self.find("curl_easy_strerror", in: library, Words.self),
                let append = unsafe Self.find("curl_slist_append", in: library, Append.self),
                let free = unsafe Self.find("curl_slist_free_all", in: library, Use.self)
            else { return nil }
            unsafe (self.make, self.clean, self.reset, self.perform) = (make, clean, reset, perform)
            unsafe (self.setPointer, self.setLong, self.getLong) = (setPointer, setLong, getLong)
            unsafe (self.words, self.append, self.free) = (words, append, free)
        }

        private static func find<Function>(
            _ name: String, in library: UnsafeMutableRawPointer, _ type: Function.Type
        ) -> Function? {
            guard let symbol = unsafe dlsym(library, name) else { return nil }
            return unsafe unsafeBitCast(symbol, to: type)
        }
    }

    /// What a transfer has received, for libcurl's callbacks.
    private final class Reception {
        let take: (Data) -> Bool
        let isCancelled: () -> Bool

        init(_ take: @escaping (Data) -> Bool, _ isCancelled: @escaping () -> Bool) {
            self.take = take
            self.isCancelled = isCancelled
        }
    }

    /// A connection that may be used again. One transfer at a time.
    @safe final class CurlHandle: @unchecked Sendable {
        private let library: CurlLibrary
        private let easy: CurlLibrary.Easy

        init?() {
            guard let library = CurlLibrary.shared, let easy = unsafe library.make() else { return nil }
            self.library = library
            unsafe self.easy = easy
        }

        deinit { unsafe library.clean(easy) }

        /// Sends a request and hands over what comes, until it ends or `take` returns false. Returns the
        /// status.
        func post(
            _ request: EtcdRequest,
            take: @escaping (Data) -> Bool,
            isCancelled: @escaping () -> Bool = { false }
        ) throws(TransferError) -> Int {
            unsafe library.reset(easy)
            var headers: UnsafeMutableRawPointer?
            for header in request.headers { unsafe headers = library.append(headers, header) }
            defer { unsafe library.free(headers) }
            let reception = Reception(take, isCancelled)
            prepare(request)
            unsafe setCallbacks(Unmanaged.passUnretained(reception).toOpaque())
            _ = unsafe library.setPointer(easy, 10_023, headers)  // CURLOPT_HTTPHEADER
            let code = unsafe request.body.withUnsafeBytes { bytes in
                _ = unsafe library.setLong(easy, 60, bytes.count)  // CURLOPT_POSTFIELDSIZE
                _ = unsafe library.setPointer(easy, 10_015, bytes.baseAddress)  // CURLOPT_POSTFIELDS
                return unsafe library.perform(easy)
            }
            withExtendedLifetime(reception) {}
            guard code == 0 else { throw failure(code, request) }
            var status = 0
            _ = unsafe library.getLong(easy, 0x20_0002, &status)  // CURLINFO_RESPONSE_CODE
            return status
        }

        private func prepare(_ request: EtcdRequest) {
            set(10_002, request.url)  // CURLOPT_URL
            // Without a proxy, an empty text keeps libcurl from asking the environment.
            set(10_004, request.route.proxy ?? "")  // CURLOPT_PROXY
            set(10_177, "")  // CURLOPT_NOPROXY
            prepare(request.route)
            _ = unsafe library.setLong(easy, 99, 1)  // CURLOPT_NOSIGNAL
            _ = unsafe library.setLong(easy, 156, 3_000)  // CURLOPT_CONNECTTIMEOUT_MS
            if let milliseconds = request.milliseconds {
                _ = unsafe library.setLong(easy, 155, milliseconds)  // CURLOPT_TIMEOUT_MS
            }
            _ = unsafe library.setLong(easy, 213, 1)  // CURLOPT_TCP_KEEPALIVE
        }

        private func prepare(_ route: EtcdRoute) {
            if let authority = route.authority {
                set(10_065, authority)  // CURLOPT_CAINFO
                _ = unsafe library.setPointer(easy, 10_097, nil)  // CURLOPT_CAPATH
            }
            guard let certificate = route.certificate else { return }
            set(10_025, certificate)  // CURLOPT_SSLCERT
            set(10_087, route.key ?? certificate)  // CURLOPT_SSLKEY
            // Otherwise the library would ask the terminal for a key's password.
            set(10_026, "")  // CURLOPT_KEYPASSWD
        }

        /// Sets an option to a text, which libcurl copies.
        private func set(_ option: Int32, _ text: String) {
            _ = unsafe library.setPointer(easy, option, SystemText.cString(text))
        }

        private func setCallbacks(_ reception: UnsafeMutableRawPointer) {
            let receive: CurlLibrary.Receive = { bytes, size, count, reception in
                guard let bytes = unsafe bytes, let reception = unsafe reception else { return 0 }
                let data = unsafe Data(bytes: bytes, count: size * count)
                let taker = unsafe Unmanaged<Reception>.fromOpaque(reception).takeUnretainedValue()
                return taker.take(data) ? size * count : 0
            }
            let progress: CurlLibrary.Progress = { reception, _, _, _, _ in
                guard let reception = unsafe reception else { return 1 }
                return unsafe Unmanaged<Reception>.fromOpaque(reception).takeUnretainedValue().isCancelled()
                    ? 1 : 0
            }
            _ = unsafe library.setPointer(easy, 20_011, unsafeBitCast(receive, to: UnsafeRawPointer.self))
            _ = unsafe library.setPointer(easy, 10_001, reception)
            _ = unsafe library.setPointer(easy, 20_219, unsafeBitCast(progress, to: UnsafeRawPointer.self))
            _ = unsafe library.setPointer(easy, 10_057, reception)
            _ = unsafe library.setLong(easy, 43, 0)
        }

        private func words(_ code: Int32) -> String {
            unsafe library.words(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        }

        private func failure(_ code: Int32, _ request: EtcdRequest) -> TransferError {
            let via = request.route.proxy == nil ? "there" : "there, or at the proxy"
            let authority = request.route.authority == nil ? "this system trusts" : "--cacert names"
            let isUnproven = request.url.hasPrefix("https:") && request.route.certificate == nil
            // A node that asks for a certificate ends the connection, sooner or later.
            if isUnproven, [35, 55, 56].contains(code) {
                return TransferError(
                    reason: "\(words(code)) (does the node ask for a certificate, by --cert?)"
                )
            }
            return switch code {
            case 7: TransferError(reason: "nobody answers \(via)")
            case 28: TransferError(reason: "no answer in time")
            case 58: TransferError(reason: "--cert and --key aren't a certificate and its key")
            case 60: TransferError(reason: "the certificate isn't one that \(authority)")
            case 77: TransferError(reason: "--cacert has no certificates")
            default: TransferError(reason: words(code))
            }
        }
    }
#endif
