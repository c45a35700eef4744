import io.delta.kernel.Scan;
import io.delta.kernel.Snapshot;
import io.delta.kernel.Table;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.expressions.And;
import io.delta.kernel.expressions.Column;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.expressions.Predicate;
import io.delta.kernel.utils.CloseableIterator;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

/** Planning by Delta Kernel: TABLE REPEATS [COLUMN OP TYPE VALUE]... prints the first and the further times as JSON. */
public class DeltaKernel {
  public static void main(String[] args) throws Exception {
    int repeats = Integer.parseInt(args[1]);
    Predicate predicate = null;
    for (int i = 2; i < args.length; i += 4) {
      Predicate next = new Predicate(args[i + 1], new Column(args[i]), literal(args[i + 2], args[i + 3]));
      predicate = predicate == null ? next : new And(predicate, next);
    }
    long start = System.nanoTime();
    Engine engine = DefaultEngine.create(new Configuration());
    Snapshot snapshot = Table.forPath(engine, args[0]).getLatestSnapshot(engine);
    long kept = plan(engine, snapshot, predicate);
    double cold = (System.nanoTime() - start) / 1e9;
    List<String> warm = new ArrayList<>();
    for (int i = 0; i < repeats; i++) {
      start = System.nanoTime();
      plan(engine, snapshot, predicate);
      warm.add(Double.toString((System.nanoTime() - start) / 1e9));
    }
    System.out.println("{\"cold\":" + cold + ",\"warm\":[" + String.join(",", warm) + "],\"kept\":" + kept + "}");
  }

  private static long plan(Engine engine, Snapshot snapshot, Predicate predicate) throws Exception {
    Scan scan = predicate == null ? snapshot.getScanBuilder().build()
        : snapshot.getScanBuilder().withFilter(predicate).build();
    long kept = 0;
    try (CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(engine)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> rows = batches.next().getRows()) {
          while (rows.hasNext()) {
            rows.next().getStruct(0).getString(0);
            kept++;
          }
        }
      }
    }
    return kept;
  }

  private static Literal literal(String type, String text) {
    switch (type) {
      case "long":
        return Literal.ofLong(Long.parseLong(text));
      case "date":
        return Literal.ofDate((int) LocalDate.parse(text).toEpochDay());
      case "timestamp":
        OffsetDateTime moment = OffsetDateTime.parse(text, DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ssxxx"));
        return Literal.ofTimestamp(ChronoUnit.MICROS.between(OffsetDateTime.parse("1970-01-01T00:00:00Z"), moment));
      case "decimal":
        return Literal.ofDecimal(new BigDecimal(text), 18, 2);
      case "double":
        return Literal.ofDouble(Double.parseDouble(text));
      default:
        return Literal.ofString(text);
    }
  }
}
