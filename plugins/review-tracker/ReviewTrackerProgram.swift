// review-tracker, the mediator: reads products and their reviews from a file or a pipe and
// publishes `catalog.<sku>` and `reviews.<sku>` as they arrive.
//
//   {"sku":"B07","title":"Phone","price":49.95,"rating":3.9,"count":14}
//   {"sku":"B07","rating":4.0,"count":15}
//
// or a header row and then arrays, as tables are often exported:
//
//   ["asin","title","rating","totalReviews","prices"]
//   ["B07","Phone",3.9,14,"$49.95,$59.95"]

import PlugboardClient

/// The whole plugin.
public enum ReviewTrackerProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            guard let path = arguments.text(file) else {
                Console.say("nothing to read: --file names no file")
                return bus.stop()
            }
            bus.health(.well)
            let tracker = Tracker(
                bus: bus,
                pace: Pace(perSecond: arguments.number(rate)),
                secondsBetweenFurther: arguments.number(thenEvery),
                source: path,
                name: arguments.name
            )
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await tracker.publish(InputLines(path: path)) }
                // A pipe without input must not delay the end.
                tasks.addTask { await bus.waitUntilStopped() }
                try await tasks.next()
                tasks.cancelAll()
            }
            bus.stop()
        }
    }

    private static let file = PluginOption.text("file", "PATH", "what to read; - is standard input")
    private static let rate = PluginOption.number(
        "rate", "N", 0.001...1_000_000, "publish at most N lines a second"
    )
    private static let thenEvery = PluginOption.number(
        "then-every",
        "SECONDS",
        0.001...86_400,
        "after the last line, invent one more review every so many seconds, until stopped"
    )

    private static let arguments = PluginArguments.read(
        "review-tracker",
        """
        publishes products and reviews that it reads from a file

        Each line is a JSON object with "sku" and "title", "price", "rating", "count" and more;
        or an array with the values of the columns that the first line names. The names "asin",
        "prices" and "totalReviews" work, too. A price may be text such as "$1,299.99". Of several
        prices the lowest counts. Without a price the product is not for sale. If a line can't be
        understood, the plugin reports its number and skips it.

        If the plugin is stopped or killed, the next one goes on behind the last line that was
        published, which progress.<name> keeps, as long as the file begins with the same lines.
        At the end of the file that key goes. NAME.health says whether lines were skipped.
        """,
        options: [file, rate, thenEvery]
    )
}
