// BackupAndRestore.
#include "base/error.hpp"
#include "kinds/callback.hpp"

namespace dl4::kinds {
namespace {

struct BackupAndRestore : Callback {
  static constexpr const char *doc =
      "keeps a checkpoint of the fit, \"latest.dl4\" in a folder, and goes on from one that is there: bit for bit as "
      "if nothing had happened, what other callbacks remember included";
  std::string folder;
  SaveEvery every;
  bool twice = false, deletes = true;

  void fields(Fields &f) override {
    f("backup_dir", folder).required(R"("backup")").doc("folder, made if it is not there");
    f("save_freq", every).doc("batches from one checkpoint to the next, or \"epoch\" or null: every epoch");
    f("double_checkpoint", twice).doc("nothing: files are written whole or not at all");
    f("delete_checkpoint", deletes).doc("remove the checkpoint when the fit has come to its end");
  }
  void check() override {
    if (folder.empty()) fail(Code::invalid_argument, "\"backup_dir\": expected a folder, got \"\"");
  }
  void prepare(Fit &f) const override { f.restore_place(file()); }
  void train_begin(Fit &, const Moment &at, Json &state) const override {
    if (!at.resumed) state = {{"batches", 0}};
  }
  void batch_end(Fit &, const Moment &, Json &state, Logs &) const override {
    state["batches"] = state["batches"].get<int64_t>() + 1;
  }
  void settled(Fit &f, const Moment &, Json &state, bool epoch) const override {
    if (every.batches == 0 ? !epoch : epoch || state["batches"].get<int64_t>() < every.batches) return;
    state["batches"] = 0;
    f.save_place(file());
  }
  void train_end(Fit &f, const Moment &, Json &) const override {
    if (deletes) f.remove(file());
  }

 private:
  std::string file() const { return folder + "/latest.dl4"; }
};

}  // namespace

DL4_KINDS(backup_and_restore, BackupAndRestore)

}  // namespace dl4::kinds
