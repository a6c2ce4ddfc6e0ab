// A plugin's command line. It is read and checked before anything else happens. A mistake in it ends the
// process with status 64. An option wins over the environment.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The arguments of a plugin. Every plugin takes `--socket`, `--peer`, `--name` and `--help` besides its
/// own options.
///
/// ```swift
/// let file = PluginOption.text("file", "PATH", "where to write")
/// let arguments = PluginArguments.read("logger", "writes down what happens", options: [file])
/// await Plugin.run(arguments) { bus in
///     print(arguments.text(file) ?? "no file")
/// }
/// ```
public struct PluginArguments: Sendable {
    /// The name on the bus: `--name`, or else `PLUGBOARD_NAME`, or else the plugin's own.
    public let name: String
    /// The broker's socket; nil without `--socket`.
    public let socket: String?
    /// A user whose broker is accepted besides this user's and root's; nil without `--peer`.
    public let peer: String?
    private let words: Invocation

    /// Reads this process's command line. Ends the process after `--help` (status 0), and after a mistake
    /// (status 64, with a message about the mistake).
    public static func read(
        _ name: String, _ summary: String, options: [PluginOption] = []
    ) -> PluginArguments {
        let words = Array(Arguments.all().dropFirst())
        do throws(PluginUsageError) {
            let arguments = try PluginArguments(parsing: words, name: name, options: options)
            guard arguments.words.has(.help) else { return arguments }
            Console.lines(helpText(name, summary, options))
            exit(0)
        } catch {
            Console.warn("\(name): \(error.message)")
            exit(64)
        }
    }

    /// Whether the option was given.
    public func has(_ option: PluginOption) -> Bool { words.has(option.option) }

    /// The option's value as written; nil if the option wasn't given.
    public func text(_ option: PluginOption) -> String? { words.text(option.option) }

    /// The value of a `PluginOption.integer`; nil if the option wasn't given.
    public func integer(_ option: PluginOption) -> Int? { text(option).flatMap { Int($0) } }

    /// The value of a `PluginOption.number`; nil if the option wasn't given.
    public func number(_ option: PluginOption) -> Double? { text(option).flatMap { Double($0) } }

    init(
        parsing words: [String],
        name: String,
        options: [PluginOption],
        environment: (String) -> String? = SocketPath.variable
    ) throws(PluginUsageError) {
        let syntax = Self.syntax(name, "", options)
        do throws(CommandMistake) {
            self.words = try Invocation(syntax, parsing: words)
        } catch {
            throw PluginUsageError(error)
        }
        socket = self.words.text(.socket)
        peer = self.words.text(.peer)
        do throws(UnknownUser) {
            _ = try TrustedUsers(naming: peer, environment: environment)
        } catch {
            throw PluginUsageError(message: "\(peer == nil ? TrustedUsers.variable : "--peer"): \(error)")
        }
        let named = environment("PLUGBOARD_NAME").flatMap { $0.isEmpty ? nil : $0 }
        let plain = named.flatMap(SystemText.plain)
        if let named, plain == nil {
            throw PluginUsageError(message: "PLUGBOARD_NAME is not UTF-8: $'\(SystemText.shown(named))'")
        }
        self.name = self.words.text(Self.ownName) ?? plain ?? name
    }

    private static let ownName = CommandOption(
        "name", "NAME", "the name to write under; by default PLUGBOARD_NAME"
    )

    private static func syntax(_ name: String, _ summary: String, _ options: [PluginOption]) -> CommandSyntax
    {
        let options = options.map(\.option) + [.socket, .peer, ownName]
        return CommandSyntax(call: name, summary: summary, options: options)
    }

    static func helpText(_ name: String, _ summary: String, _ options: [PluginOption]) -> [String] {
        syntax(name, summary, options).help.split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
    }
}

/// What is wrong with a command line, for the person who typed it.
struct PluginUsageError: Error, Equatable {
    let message: String
}

extension PluginUsageError {
    fileprivate init(_ mistake: CommandMistake) {
        let help = "--help lists the options"
        switch mistake {
        case .unknownOption(let word, let hint): message = "there is no option \"\(word)\"; \(hint ?? help)"
        case .missing(let word), .superfluous(let word): message = "it takes no argument \"\(word)\"; \(help)"
        case .value(let text, _): message = text
        }
    }
}

extension Console {
    static func lines(_ lines: [String]) {
        for line in lines { say(line) }
    }
}
