// A real browser without a window, driven by the WebDriver protocol. There is one for the whole run of the
// tests: it starts with the first test that needs it, and ends with the process. Its driver is a program
// of its own, and everything it starts ends with it.

import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

/// Chromium.
final class Browser: Sendable {
    /// Whether there is one. Debian: `apt install chromium chromium-driver`.
    static let isPossible: Bool = {
        let isPossible = program != nil
        if !isPossible { print("left out: tests of the dashboard's page need chromium and chromedriver") }
        return isPossible
    }()

    /// The one browser. Throws if it can't be started.
    static let shared = Result { try Browser() }

    private static let program = ["/usr/bin/chromedriver", "/usr/lib/chromium-browser/chromedriver"]
        .first(where: FileStatus.isRunnable)

    /// Its input stays open as long as this process lives.
    private let driver: TestProgram
    private let port: UInt16
    private let session: String
    /// The window that stays open, so that others can be opened from it.
    private let firstWindow: String

    private init() throws {
        // However the tests end, the shell's input ends then, and it kills the driver. The browser ends when
        // the driver does, because a pipe leads from one to the other.
        let script = #""$0" --port=0 & cat >/dev/null; kill -9 $!"#
        driver = try TestProgram(
            "/bin/sh",
            ["-c", script, Self.program ?? ""],
            environment: TestProgram.ownVariables(),
            input: .typed,
            output: .files
        )
        port = try Self.port(of: driver)
        let words = [
            "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "remote-debugging-pipe",
        ]
        let arguments = "[\(words.map { "\"--\($0)\"" }.joined(separator: ","))]"
        let options = #"{"args":\#(arguments),"binary":"/usr/bin/chromium"}"#
        let wish = #"{"browserName":"chrome","goog:chromeOptions":\#(options)}"#
        let reply = try Self.ask(port, "POST", "/session", #"{"capabilities":{"alwaysMatch":\#(wish)}}"#)
        session = reply["sessionId"]?.string ?? ""
        firstWindow = try Self.ask(port, "GET", "/session/\(session)/window", "").string ?? ""
    }

    /// The number behind `on port`.
    private static func port(of driver: TestProgram) throws -> UInt16 {
        var port: UInt16?
        try eventually("chromedriver starts") {
            guard driver.isRunning else { throw NeverHappened(description: driver.output + driver.errors) }
            let match = driver.output.firstMatch(of: /started successfully on port ([0-9]+)/)
            port = match.flatMap { UInt16($0.1) }
            return port != nil
        }
        return port ?? 0
    }

    /// Opens a tab of its own. `body` gets it, and it is closed afterwards.
    func withTab(_ address: String, _ body: (Tab) async throws -> Void) async throws {
        try select(firstWindow)
        let handle = try command("POST", "/window/new", #"{"type":"window"}"#)["handle"]?.string ?? ""
        let tab = Tab(browser: self, handle: handle)
        defer { tab.close() }
        try tab.open(address)
        try await body(tab)
    }

    fileprivate func select(_ handle: String) throws {
        _ = try command("POST", "/window", #"{"handle":"\#(handle)"}"#)
    }

    fileprivate func command(_ method: String, _ path: String, _ body: String = "") throws -> JSON {
        try Self.ask(port, method, "/session/\(session)\(path)", body)
    }

    private static func ask(_ port: UInt16, _ method: String, _ path: String, _ body: String) throws -> JSON {
        let client = try WebClient(port: port)
        let headers = [("Host", "127.0.0.1:\(port)"), ("Content-Type", "application/json")]
        let reply = try client.ask(method, path, headers, body)
        guard reply.status == 200, let value = try JSON(reply.body)["value"] else {
            throw NeverHappened(
                description: "WebDriver does \(method) \(path): \(reply.status) \(reply.body)"
            )
        }
        return value
    }
}

/// A page in the browser.
struct Tab {
    let browser: Browser
    let handle: String

    func open(_ address: String) throws {
        try select()
        _ = try browser.command("POST", "/url", #"{"url":\#(JSON(encoding: address).text)}"#)
    }

    /// What a function's body returns in the page.
    @discardableResult
    func run(_ script: String) throws -> JSON {
        try select()
        let text = try JSON(encoding: script).text
        return try browser.command("POST", "/execute/sync", #"{"script":\#(text),"args":[]}"#)
    }

    /// Presses keys, one after the other, as a person does. Some have names: `Tab`, `Enter`, `Escape`, `Down`.
    func press(_ keys: String...) throws {
        try select()
        let names = ["Tab": "\u{E004}", "Enter": "\u{E007}", "Escape": "\u{E00C}", "Down": "\u{E015}"]
            .merging(["Right": "\u{E014}", "Left": "\u{E012}"]) { first, _ in first }
        let strokes = try keys.flatMap { key in
            try ["keyDown", "keyUp"].map { kind in
                #"{"type":"\#(kind)","value":\#(try JSON(encoding: names[key] ?? key).text)}"#
            }
        }
        let input = #"{"type":"key","id":"keyboard","actions":[\#(strokes.joined(separator: ","))]}"#
        _ = try browser.command("POST", "/actions", #"{"actions":[\#(input)]}"#)
    }

    /// Gives the page so many pixels.
    func resize(width: Int, height: Int) throws {
        let size = #"{"width":\#(width),"height":\#(height),"deviceScaleFactor":1,"mobile":false}"#
        try have("Emulation.setDeviceMetricsOverride", size)
    }

    /// Has the browser's user prefer `light` or `dark`.
    func prefer(_ scheme: String) throws {
        let feature = #"{"name":"prefers-color-scheme","value":"\#(scheme)"}"#
        try have("Emulation.setEmulatedMedia", #"{"features":[\#(feature)]}"#)
    }

    /// Puts the browser's user into a time zone.
    func live(in zone: String) throws {
        try have("Emulation.setTimezoneOverride", #"{"timezoneId":"\#(zone)"}"#)
    }

    /// Has the browser save files there without asking.
    func saveFiles(in folder: String) throws {
        let path = try JSON(encoding: folder).text
        try have("Browser.setDownloadBehavior", #"{"behavior":"allow","downloadPath":\#(path)}"#)
    }

    /// Has the browser do something that its own protocol names.
    private func have(_ command: String, _ parameters: String) throws {
        try select()
        let command = #"{"cmd":"\#(command)","params":\#(parameters)}"#
        _ = try browser.command("POST", "/chromium/send_command_and_get_result", command)
    }

    /// Waits until an expression is true in the page.
    func wait(_ what: String, seconds: Double = 60, for expression: String) throws {
        let limit = TimeLimit(seconds: seconds)
        while try run("return Boolean(\(expression))").text != "true" {
            guard !limit.isOver else {
                let text = try run("return document.body.innerText").string ?? ""
                throw NeverHappened(description: "never: \(what); the page says: \(text.prefix(600))")
            }
            Pause.sleep(seconds: 0.02)
        }
    }

    fileprivate func close() {
        guard (try? select()) != nil else { return }
        _ = try? browser.command("DELETE", "/window")
    }

    private func select() throws { try browser.select(handle) }
}
