// Lists of tasks.
#include <starpu.h>

void starpu_task_list_init(struct starpu_task_list *list) { list->head = list->tail = nullptr; }
int starpu_task_list_empty(const struct starpu_task_list *list) { return !list->head; }
struct starpu_task *starpu_task_list_front(const struct starpu_task_list *list) { return list->head; }
struct starpu_task *starpu_task_list_back(const struct starpu_task_list *list) { return list->tail; }
struct starpu_task *starpu_task_list_begin(const struct starpu_task_list *list) { return list->head; }
struct starpu_task *starpu_task_list_end(const struct starpu_task_list *) { return nullptr; }
struct starpu_task *starpu_task_list_next(const struct starpu_task *task) { return task->next; }

void starpu_task_list_push_front(struct starpu_task_list *list, struct starpu_task *task) {
  task->prev = nullptr;
  task->next = list->head;
  (list->head ? list->head->prev : list->tail) = task;
  list->head = task;
}

void starpu_task_list_push_back(struct starpu_task_list *list, struct starpu_task *task) {
  task->next = nullptr;
  task->prev = list->tail;
  (list->tail ? list->tail->next : list->head) = task;
  list->tail = task;
}

void starpu_task_list_erase(struct starpu_task_list *list, struct starpu_task *task) {
  (task->prev ? task->prev->next : list->head) = task->next;
  (task->next ? task->next->prev : list->tail) = task->prev;
  task->prev = task->next = nullptr;
}

struct starpu_task *starpu_task_list_pop_front(struct starpu_task_list *list) {
  starpu_task *task = list->head;
  if (task) starpu_task_list_erase(list, task);
  return task;
}

struct starpu_task *starpu_task_list_pop_back(struct starpu_task_list *list) {
  starpu_task *task = list->tail;
  if (task) starpu_task_list_erase(list, task);
  return task;
}

int starpu_task_list_ismember(const struct starpu_task_list *list, const struct starpu_task *look) {
  for (const starpu_task *t = list->head; t; t = t->next)
    if (t == look) return 1;
  return 0;
}

void starpu_task_list_move(struct starpu_task_list *ldst, struct starpu_task_list *lsrc) {
  *ldst = *lsrc;
  starpu_task_list_init(lsrc);
}
