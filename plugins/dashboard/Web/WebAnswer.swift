// The answers of the server, as bytes. Every answer forbids the browser to keep it, to guess its type, and
// to run anything that is not one of the page's own files.

/// The statuses that the server uses.
enum WebStatus: Int {
    case fine = 200
    case badRequest = 400
    case forbidden = 403
    case notFound = 404
    case wrongMethod = 405
    case conflict = 409
    case lengthRequired = 411
    case bodyTooLarge = 413
    case tooMany = 429
    case headTooLarge = 431
    case badGateway = 502
    case tooLate = 504
    case badVersion = 505

    private var reason: String {
        switch self {
        case .fine: "OK"
        case .badRequest: "Bad Request"
        case .forbidden: "Forbidden"
        case .notFound: "Not Found"
        case .wrongMethod: "Method Not Allowed"
        case .conflict: "Conflict"
        case .lengthRequired: "Length Required"
        case .bodyTooLarge: "Content Too Large"
        case .tooMany: "Too Many Requests"
        case .headTooLarge: "Request Header Fields Too Large"
        case .badGateway: "Bad Gateway"
        case .tooLate: "Gateway Timeout"
        case .badVersion: "HTTP Version Not Supported"
        }
    }

    /// `HTTP/1.1 200 OK`.
    var line: String { "HTTP/1.1 \(rawValue) \(reason)" }
}

/// What the server sends back.
struct WebAnswer: Equatable {
    /// The only things that the page may load: its own scripts, styles and icon, and its own requests.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    var status: WebStatus
    var type: String?
    var body: [UInt8] = []

    /// An answer that says nothing.
    static func empty(_ status: WebStatus) -> WebAnswer { WebAnswer(status: status) }

    /// One line of JSON.
    static func line(_ bytes: [UInt8], _ status: WebStatus = .fine) -> WebAnswer {
        let isEnded = bytes.last == 0x0A
        return WebAnswer(status: status, type: "application/json", body: isEnded ? bytes : bytes + [0x0A])
    }

    func bytes(endsConnection: Bool) -> [UInt8] {
        var head = Self.start(status, type: type)
        head += "Content-Length: \(body.count)\r\n"
        head += endsConnection ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n"
        return Array(head.utf8) + body
    }

    /// The head of a stream, which ends with the connection.
    static var streamStart: [UInt8] {
        Array((start(.fine, type: "text/event-stream") + "Connection: close\r\n\r\n").utf8)
    }

    private static func start(_ status: WebStatus, type: String?) -> String {
        var head = "\(status.line)\r\n"
        if let type { head += "Content-Type: \(type); charset=utf-8\r\n" }
        head += "Content-Security-Policy: \(policy)\r\n"
        head += "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        head += "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n"
        return head + "X-Frame-Options: DENY\r\nCache-Control: no-store\r\n"
    }
}
